"""Benchmark data sets with ground truth."""

from disentree.datasets.base import Dataset
from disentree.datasets.chopsticks import Chopsticks
from disentree.datasets.files import save_dataset
from disentree.datasets.registry import DatasetInfo, dataset_info, list_datasets, load_dataset

__all__ = [
    "Chopsticks",
    "Dataset",
    "DatasetInfo",
    "dataset_info",
    "list_datasets",
    "load_dataset",
    "save_dataset",
]

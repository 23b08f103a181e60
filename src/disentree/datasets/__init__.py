"""Benchmark data sets with ground truth, and the user's own data."""

from disentree.datasets.base import Dataset
from disentree.datasets.chopsticks import Chopsticks
from disentree.datasets.files import save_dataset
from disentree.datasets.registry import DatasetInfo, dataset_info, list_datasets, load_dataset
from disentree.datasets.user_files import UserData, load_file

__all__ = [
    "Chopsticks",
    "Dataset",
    "DatasetInfo",
    "UserData",
    "dataset_info",
    "list_datasets",
    "load_dataset",
    "load_file",
    "save_dataset",
]

"""Benchmark data sets with ground truth."""

from disentree.datasets.base import Dataset
from disentree.datasets.chopsticks import Chopsticks
from disentree.datasets.registry import DatasetInfo, list_datasets, load_dataset

__all__ = ["Chopsticks", "Dataset", "DatasetInfo", "list_datasets", "load_dataset"]

"""Benchmark data sets with ground truth, and the user's own data."""

from disentree.datasets.base import Dataset
from disentree.datasets.files.factors import from_ground_truth, load_factors
from disentree.datasets.files.user_files import UserData, load_file
from disentree.datasets.generated.chopsticks import Chopsticks
from disentree.datasets.registry import DatasetInfo, dataset_info, list_datasets, load_dataset, register_dataset
from disentree.datasets.saving import save_dataset

__all__ = [
    "Chopsticks",
    "Dataset",
    "DatasetInfo",
    "UserData",
    "dataset_info",
    "from_ground_truth",
    "list_datasets",
    "load_dataset",
    "load_factors",
    "load_file",
    "register_dataset",
    "save_dataset",
]

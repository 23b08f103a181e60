"""The same rows in all forms that blocks are read from."""

import numpy as np
import pandas as pd
import pytest

FORMS = ("array", "npy", "frame", "parquet", "parts", "csv", "dask array", "dask frame")


def as_form(form, frame, folder, most=130):
    """The same rows in another form, in parts of at most so many rows."""
    if form == "array":
        return frame.to_numpy()
    if form == "frame":
        return frame
    if form == "npy":
        np.save(folder / "rows.npy", frame.to_numpy())
        return folder / "rows.npy"
    if form == "csv":
        frame.to_csv(folder / "rows.csv", index=False)
        return folder / "rows.csv"
    if form == "parquet":
        frame.to_parquet(folder / "rows.parquet", row_group_size=most)
        return str(folder / "rows.parquet")
    if form == "parts":
        (folder / "parts").mkdir()
        for k, start in enumerate(range(0, len(frame), len(frame) // 3 + 1)):
            part = frame[start : start + len(frame) // 3 + 1]
            part[part.columns[::-1]].to_csv(folder / "parts" / f"{k}.csv", index=False)
        first = pd.read_csv(folder / "parts" / "0.csv", float_precision="round_trip")
        first[frame.columns].to_parquet(folder / "parts" / "0.parquet", row_group_size=most)
        (folder / "parts" / "0.csv").unlink()
        return folder / "parts"
    pytest.importorskip("dask", reason="needs dask: the extra dask of disentree")
    if form == "dask array":
        import dask.array

        return dask.array.from_array(frame.to_numpy(), chunks=(most, 2))
    import dask.dataframe

    return dask.dataframe.from_pandas(frame, npartitions=5)

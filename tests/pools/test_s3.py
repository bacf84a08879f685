"""A bucket, on a server of this machine: the same rows as on the disk."""

import pyarrow as pa
import pytest

from labelwise.pools import places
from labelwise.pools.passes import Passing
from labelwise.pools.source import is_large, open_source
from tests.pools.tables import ROWS, write
from tests.pools.test_passes import alike, sample

pytestmark = [
    pytest.mark.slow,
    # What the server and its client say of their own code.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """The address of a bucket that holds the table, and the folder it was made from."""
    boto3 = pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    places._system.cache_clear()
    client = boto3.client("s3")
    client.create_bucket(Bucket="rows")
    folder = write(tmp_path / "pool")
    for file in folder.iterdir():
        client.upload_file(str(file), "rows", f"scored/year=2024/{file.name}")
    yield "s3://rows/scored", folder
    places._system.cache_clear()
    server.stop()


def test_a_bucket_has_the_rows_and_the_sample_of_its_files(bucket, refused):
    address, folder = bucket
    assert is_large(address)
    source = open_source(address, "pool")
    assert source.rows == ROWS
    assert source.columns[-1] == "year"
    globbed = open_source(f"{address}/*/part-[01].parquet", "pool")
    assert [piece.rows for piece in globbed.pieces] == [700, 700, 600] * 2
    found = sample(source.only([*open_source(folder, "pool").columns]), Passing())[0]
    assert alike(found, sample(open_source(folder, "pool"), Passing())[0])
    rows = pa.concat_tables(source.batches(source.pieces[0]))
    assert set(rows["year"].to_pylist()) == {2024}
    with refused(where="s3://rows/nothing"):
        open_source("s3://rows/nothing", "pool")


def test_an_address_of_no_known_kind_is_refused(refused):
    with refused(where="nowhere://"):
        open_source("nowhere://rows", "pool")

"""The tables of a campaign's log, as numbered steps. A step that was released never changes.

Version n of the schema is what steps 1 to n leave. Each step runs in one transaction with
the record of it, so a crash leaves the whole step or nothing of it.
"""

STEPS = (
    # 1: the log. Events and rounds are only ever added; triggers hold everyone to it.
    """
    CREATE TABLE documents (
        name TEXT PRIMARY KEY,
        content TEXT NOT NULL  -- JSON; written when the campaign is created
    );
    CREATE TABLE items (
        item INTEGER PRIMARY KEY,
        origin TEXT NOT NULL CHECK (origin IN ('pool', 'labelled')),
        position INTEGER NOT NULL,  -- row of that table's snapshot
        id TEXT NOT NULL UNIQUE,
        UNIQUE (origin, position)
    );
    CREATE TABLE rounds (
        round INTEGER PRIMARY KEY,  -- also the batch_id that users see
        at TEXT NOT NULL,
        content TEXT NOT NULL  -- JSON: what the plan knew, and what it expected
    );
    CREATE TABLE events (
        event INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN
            ('asked', 'labelled', 'corrected', 'skipped', 'failed', 'expired')),
        item INTEGER NOT NULL REFERENCES items,
        round INTEGER REFERENCES rounds,
        place INTEGER,  -- asked: order in the batch
        probability REAL,  -- asked: chance of this draw given those before; 1 if chosen
        label REAL,  -- labelled, corrected
        reason TEXT,  -- skipped, failed, corrected
        CHECK ((label IS NOT NULL) = (kind IN ('labelled', 'corrected'))),
        CHECK ((place IS NOT NULL AND probability IS NOT NULL) = (kind = 'asked'))
    );
    CREATE INDEX events_by_item ON events (item, event);
    CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER rounds_stay BEFORE UPDATE ON rounds
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER rounds_remain BEFORE DELETE ON rounds
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    """,
    # 2: what was computed from the log. It could all be computed again.
    """
    CREATE TABLE estimates (
        labels TEXT PRIMARY KEY,  -- fingerprint of the labels it rests on
        event INTEGER NOT NULL,  -- the last event it knew of
        at TEXT NOT NULL,
        content TEXT NOT NULL
    );
    CREATE TABLE fits (
        labels TEXT PRIMARY KEY,
        content TEXT NOT NULL
    );
    """,
    # 3: how a unit is to be treated, where chance or the plan decides.
    """
    ALTER TABLE events ADD COLUMN treatment REAL;
    """,
    # 4: what was predicted of every pool row before a batch was drawn.
    """
    CREATE TABLE predictions (
        round INTEGER PRIMARY KEY REFERENCES rounds,
        content BLOB NOT NULL  -- compressed single-precision numbers, terms × pool
    );
    CREATE TRIGGER predictions_stay BEFORE UPDATE ON predictions
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER predictions_remain BEFORE DELETE ON predictions
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    """,
    # 5: hashes, by which a change of what was written is known (see `chain`).
    """
    CREATE TABLE start (
        content TEXT NOT NULL  -- JSON: hashes of documents, items and tables, and since when
    );
    CREATE TABLE chain (
        link INTEGER PRIMARY KEY,  -- 0: the start
        round INTEGER REFERENCES rounds,
        event INTEGER REFERENCES events,
        record TEXT NOT NULL,
        head TEXT NOT NULL
    );
    CREATE TRIGGER start_stays BEFORE UPDATE ON start
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER start_remains BEFORE DELETE ON start
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER chain_stays BEFORE UPDATE ON chain
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER chain_remains BEFORE DELETE ON chain
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    ALTER TABLE estimates ADD COLUMN record TEXT;  -- SHA-256 of labels and content
    ALTER TABLE fits ADD COLUMN record TEXT;
    """,
    # 6: rows of a larger pool that were asked for from outside of the sample. They are items,
    # after all others; the round's content has their ids.
    """
    CREATE TABLE joined (
        round INTEGER PRIMARY KEY REFERENCES rounds,
        content BLOB NOT NULL  -- Parquet: the rows, as the pool table has them
    );
    CREATE TRIGGER joined_stays BEFORE UPDATE ON joined
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER joined_remains BEFORE DELETE ON joined
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    """,
    # 7: what `refine` found, which stands in a file beside the log.
    """
    CREATE TABLE refined (
        link INTEGER PRIMARY KEY REFERENCES chain,  -- that binds it
        record TEXT NOT NULL  -- SHA-256 of the file
    );
    CREATE TRIGGER refined_stays BEFORE UPDATE ON refined
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    CREATE TRIGGER refined_remains BEFORE DELETE ON refined
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
    """,
)
BOUND = 5  # the step from which on everything is bound

VERSION = len(STEPS)

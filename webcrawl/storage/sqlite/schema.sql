-- The state of one crawl (schema version 4). Times are epoch seconds; open this file with any SQLite tool,
-- also while the crawl runs: it is in WAL mode and readers do not disturb it.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row per politeness key. `record` is the HostRecord as JSON, without the fields that have their defaults; fields
-- that are searched have columns of their own.
CREATE TABLE hosts (
    id            INTEGER PRIMARY KEY,
    key           TEXT    NOT NULL UNIQUE,
    level         INTEGER NOT NULL DEFAULT 0,   -- the highest level in its queue, kept while idle
    next_fetch_at REAL    NOT NULL DEFAULT 0,   -- by it idle hosts take turns: not before its queue had a URL
    delay_seconds REAL    NOT NULL DEFAULT 0,
    queued        INTEGER NOT NULL DEFAULT 0,
    idle          INTEGER NOT NULL DEFAULT 0,   -- has URLs, is neither active nor given up
    active        INTEGER NOT NULL DEFAULT 0,
    parked        INTEGER NOT NULL DEFAULT 0,
    given_up      INTEGER NOT NULL DEFAULT 0,
    record        TEXT
);
CREATE INDEX hosts_idle ON hosts (level, next_fetch_at) WHERE idle = 1;
CREATE INDEX hosts_idle_by_time ON hosts (parked, next_fetch_at) WHERE idle = 1;
CREATE INDEX hosts_parked ON hosts (id) WHERE parked = 1;
CREATE INDEX hosts_active ON hosts (id) WHERE active = 1;
CREATE INDEX hosts_given_up ON hosts (id, queued) WHERE given_up = 1;

-- Every URL ever queued, by fingerprint (xxh3-64 of the canonical form), with its state:
-- 0 queued (or leased), 1 done, 2 failed, 3 refused; `rule` is the rule that refused it or the error of its failure,
-- `status` the HTTP status of the last response to it.
-- Clustered by key: four links in five stay on their host, so one page's links lie close together.
CREATE TABLE seen (
    host_id     INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    state       INTEGER NOT NULL DEFAULT 0,
    rule        TEXT,
    status      INTEGER,
    PRIMARY KEY (host_id, fingerprint)
) WITHOUT ROWID;

-- With FRONTIER_SEEN=bloom: the additions since the filter's file was last written.
CREATE TABLE seen_journal (
    fingerprint INTEGER NOT NULL
);

-- A queue per key, in the order in which it is fetched. A leased URL keeps its row until it is settled.
-- Rows are stored in insertion order, and only the slim index of the primary key is in the order of the queues:
-- a commit appends its rows to a few database pages, instead of changing one page of rows for each key that it touches.
-- (Older databases have their rows in the index itself. All statements are the same.)
CREATE TABLE queue (
    host_id     INTEGER NOT NULL,
    rank        INTEGER NOT NULL,               -- minus the level
    position    INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    url         TEXT    NOT NULL,
    depth       INTEGER NOT NULL,
    via         TEXT,
    kind        TEXT    NOT NULL,
    redirects   INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    repeat      INTEGER NOT NULL,               -- queued beside another of the same fingerprint
    payload     TEXT,
    listed      TEXT,                           -- what its sitemap says of it, as JSON
    traits      TEXT,                           -- the features of the link to it, for the scorer
    PRIMARY KEY (host_id, rank, position)
);

CREATE TABLE robots (
    origin              TEXT PRIMARY KEY,
    state               TEXT NOT NULL,
    fetched_at          REAL NOT NULL,
    expires_at          REAL NOT NULL,
    text                TEXT NOT NULL,
    crawl_delay_seconds REAL,
    attempts            INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX robots_by_age ON robots (expires_at);

-- Running totals, so that opening a crawl of any size counts nothing.
CREATE TABLE totals (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    queued INTEGER NOT NULL DEFAULT 0,
    done   INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    hosts  INTEGER NOT NULL DEFAULT 0,
    robots INTEGER NOT NULL DEFAULT 0
);
INSERT INTO totals (one) VALUES (1);

BEGIN TRANSACTION;
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
INSERT INTO "hosts" VALUES(1,'a.test',7,0.0,0.0,10,1,0,0,0,NULL);
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('POLITENESS_KEY','host');
INSERT INTO "meta" VALUES('schema_version','4');
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
INSERT INTO "queue" VALUES(1,0,1,6759136513626299164,'http://a.test/1',0,NULL,'page',0,0,0,NULL,NULL,NULL);
INSERT INTO "queue" VALUES(1,0,2,6361114624519365920,'http://a.test/2',1,'http://a.test/','page',0,0,0,NULL,NULL,NULL);
INSERT INTO "queue" VALUES(1,3,3,5990104571061996475,'https://www.a.test/a/b?c=%C3%BC',200,'http://b.test/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','page',0,0,0,NULL,NULL,NULL);
INSERT INTO "queue" VALUES(1,0,4,1825116304989353287,'http://a.test/4',2,'http://a.test/','page',0,0,0,NULL,NULL,'550100	shop the best');
INSERT INTO "queue" VALUES(1,0,5,8041405967596383513,'http://a.test/5',0,'http://a.test/','page',0,0,0,NULL,NULL,'');
INSERT INTO "queue" VALUES(1,-7,6,7164647316996711518,'http://a.test/sitemap.xml',0,'http://a.test/robots.txt','sitemap',2,0,0,NULL,NULL,NULL);
INSERT INTO "queue" VALUES(1,0,7,6759136513626299164,'http://a.test/1',0,'http://a.test/','page',0,2,1,NULL,NULL,NULL);
INSERT INTO "queue" VALUES(1,0,8,-6377213690158674769,'http://a.test/8',0,NULL,'page',0,0,0,'{"callback":"parse_item"}',NULL,NULL);
INSERT INTO "queue" VALUES(1,0,9,-6822579203997646651,'http://a.test/9',0,'http://a.test/','page',0,0,0,NULL,'{"lastmod":1767225600.5}',NULL);
INSERT INTO "queue" VALUES(1,-5,10,-2330102702506457290,'http://a.test/☃',4,'http://b.test/','page',1,1,0,'{"method":"POST"}','{"embed":1}','x y');
CREATE TABLE robots (
    origin              TEXT PRIMARY KEY,
    state               TEXT NOT NULL,
    fetched_at          REAL NOT NULL,
    expires_at          REAL NOT NULL,
    text                TEXT NOT NULL,
    crawl_delay_seconds REAL,
    attempts            INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE seen (
    host_id     INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    state       INTEGER NOT NULL DEFAULT 0,
    rule        TEXT,
    status      INTEGER,
    PRIMARY KEY (host_id, fingerprint)
) WITHOUT ROWID;
INSERT INTO "seen" VALUES(1,-6822579203997646651,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,-6377213690158674769,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,-2330102702506457290,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,1825116304989353287,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,5990104571061996475,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,6361114624519365920,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,6759136513626299164,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,7164647316996711518,0,NULL,NULL);
INSERT INTO "seen" VALUES(1,7621048536458290383,1,NULL,200);
INSERT INTO "seen" VALUES(1,8041405967596383513,0,NULL,NULL);
CREATE TABLE seen_journal (
    fingerprint INTEGER NOT NULL
);
CREATE TABLE totals (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    queued INTEGER NOT NULL DEFAULT 0,
    done   INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    hosts  INTEGER NOT NULL DEFAULT 0,
    robots INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "totals" VALUES(1,10,1,0,0,1,0);
CREATE INDEX hosts_idle ON hosts (level, next_fetch_at) WHERE idle = 1;
CREATE INDEX hosts_idle_by_time ON hosts (parked, next_fetch_at) WHERE idle = 1;
CREATE INDEX hosts_parked ON hosts (id) WHERE parked = 1;
CREATE INDEX hosts_active ON hosts (id) WHERE active = 1;
CREATE INDEX hosts_given_up ON hosts (id, queued) WHERE given_up = 1;
CREATE INDEX robots_by_age ON robots (expires_at);
COMMIT;

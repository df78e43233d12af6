-- A sequence advances within its page, so that no index changes (a HOT update). Full pages have no room for the new version.
ALTER TABLE inbox_sequence SET (fillfactor = 70);

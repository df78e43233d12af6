-- A reservation changes within its page, so that no index changes (a HOT update). Full pages have no room for the new version.
ALTER TABLE reservation SET (fillfactor = 70);

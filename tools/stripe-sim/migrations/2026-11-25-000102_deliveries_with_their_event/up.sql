-- The transaction that adds an event adds its deliveries, too. A task that looked for new events read the dead entries of their
-- index again and again.
ALTER TABLE event DROP COLUMN planned;

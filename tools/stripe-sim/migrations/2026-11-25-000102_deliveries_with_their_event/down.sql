ALTER TABLE event ADD COLUMN planned boolean NOT NULL DEFAULT true;
ALTER TABLE event ALTER COLUMN planned SET DEFAULT false;
CREATE INDEX event_to_plan ON event (position) WHERE NOT planned;

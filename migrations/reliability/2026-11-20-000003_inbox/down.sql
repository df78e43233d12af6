DROP TABLE inbox_stopped_partition;
DROP TABLE inbox_parked;
DROP TABLE inbox_sequence;
DROP TABLE inbox_message;

CREATE INDEX CONCURRENTLY page_words ON page (words);

-- A confirmation and a refund change no indexed column of a payment. With room in its page, they change no index either (a HOT update).
ALTER TABLE payment SET (fillfactor = 70);

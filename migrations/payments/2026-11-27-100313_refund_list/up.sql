-- The list of refunds, newest first. The id of a refund is computed and tells only the time of its payment. The index refund_list
-- stays for the programs of the version before.
CREATE INDEX CONCURRENTLY refund_newest ON refund (tenant_id, created_at DESC, id DESC);

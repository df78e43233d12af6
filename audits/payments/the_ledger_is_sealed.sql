-- Promise 5: what was posted is in the chain within a minute, and nothing that is in it was changed.
-- Database: payments.
--
-- A seal is the SHA-256 of the one before it, its position, and one form of its transaction: numbers of 8 bytes, texts
-- with their length before them. What was cut off at the end shows against a head that was published.
WITH sealed AS (
    SELECT seal.position, seal.hash, posted.*,
           lag(seal.hash, 1, decode(repeat('00', 32), 'hex')) OVER (ORDER BY seal.position) AS previous
      FROM ledger_seal AS seal
      JOIN ledger_transaction AS posted ON posted.id = seal.transaction_id
), computed AS (
    SELECT sealed.position, sealed.id, sealed.hash,
           sha256(form.name || sealed.previous || int8send(sealed.position) || int8send(sealed.id) || said.texts
                  || uuid_send(sealed.payment_id)
                  || uuid_send(coalesce(sealed.refund_id, '00000000-0000-0000-0000-000000000000'))
                  || int8send((extract(epoch FROM sealed.recorded_at) * 1000000)::bigint)
                  || int8send(entries.number) || entries.form) AS expected
      FROM sealed
     CROSS JOIN (SELECT int4send(14) || convert_to('idem.ledger.v1', 'UTF8') AS name) AS form
     CROSS JOIN LATERAL (
         SELECT string_agg(int4send(octet_length(field)) || convert_to(field, 'UTF8'), '' ORDER BY place) AS texts
           FROM unnest(ARRAY[sealed.tenant_id, sealed.kind, sealed.cause]) WITH ORDINALITY AS field (field, place)) AS said
     CROSS JOIN LATERAL (
         SELECT count(*) AS number,
                coalesce(string_agg(int8send(line) || said.texts || int8send(amount), '' ORDER BY line), '') AS form
           FROM ledger_entry AS entry
          CROSS JOIN LATERAL (
              SELECT string_agg(int4send(octet_length(field)) || convert_to(field, 'UTF8'), '' ORDER BY place) AS texts
                FROM unnest(ARRAY[entry.tenant_id, entry.account, entry.currency]) WITH ORDINALITY AS field (field, place)
              ) AS said
          WHERE entry.transaction_id = sealed.id) AS entries
)
SELECT format('ledger transaction %s at position %s is not what was sealed there', id, position) AS violation
  FROM computed
 WHERE hash <> expected
UNION ALL
SELECT format('the chain has %s places up to position %s', count(*), max(position))
  FROM ledger_seal
HAVING count(*) <> max(position)
UNION ALL
SELECT format('the head is at position %s with hash %s, and the last seal at %s with %s', head.position,
              encode(head.hash, 'hex'), coalesce(last.position, 0), coalesce(encode(last.hash, 'hex'), 'none'))
  FROM ledger_head AS head
  LEFT JOIN (SELECT position, hash FROM ledger_seal ORDER BY position DESC LIMIT 1) AS last ON true
 WHERE head.position <> coalesce(last.position, 0)
    OR head.hash <> coalesce(last.hash, decode(repeat('00', 32), 'hex'))
UNION ALL
SELECT format('ledger transaction %s (%s of payment %s) was posted at %s and is not sealed', posted.id, posted.kind,
              posted.payment_id, posted.recorded_at)
  FROM ledger_transaction AS posted
  LEFT JOIN ledger_seal AS seal ON seal.transaction_id = posted.id
 WHERE seal.position IS NULL
   AND posted.recorded_at < clock_timestamp() - interval '1 minute';

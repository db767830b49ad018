
-- Refuses everything for as long as ARGV[2] says; 0 ends a block. Reply: 1.
--
-- Idempotent: the last one counts.

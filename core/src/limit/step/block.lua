-- Refuses everything for a while.
--
-- KEYS[1]  STRING, of which only the time to live counts
-- ARGV[1]  for how long, in ms; 0 ends a block
--
-- Reply    1
--
-- Idempotent: the last one counts.
if ARGV[1] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
end
return 1

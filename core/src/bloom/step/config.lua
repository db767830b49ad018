-- The configuration of a Bloom filter. Stands in front of each script that has to have the caller's.
--
-- KEYS[1]  N  STRING: the bits (Redisson's RBloomFilter)
-- KEYS[2]  C  HASH: size, hashIterations, expectedInsertions, falseProbability; all decimal
-- ARGV[1]  size and ARGV[2] hashes of a bit string, as texts: C has to have the same ones
--
-- Reply    {size, hashes, expected, rate}, as C has them: another configuration. Nothing changed.
--          WRONGTYPE, when C is no configuration, or is gone and N is there. Nothing changed.
local N, C, size, hashes = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local config = redis.call('HMGET', C, 'size', 'hashIterations', 'expectedInsertions', 'falseProbability')
local there = config[1] and config[2]
if not there and (config[1] or config[2] or redis.call('EXISTS', N, C) > 0) then
  return redis.error_reply('WRONGTYPE the keys hold no Bloom filter')
end
if there and (config[1] ~= size or config[2] ~= hashes) then
  return config
end

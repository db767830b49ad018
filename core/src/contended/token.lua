-- Fencing tokens, for kinds whose grants have one. Stands behind queue.lua, in front of each script that grants.
--
-- T  STRING: the last token that was given or reserved, decimal (Redisson's RFencedLock)
--
-- Tokens increase: a token is the server's clock in us, or the last token + 1. Numbers stay below 2^53, where a Lua number is
-- exact.
local NO_TOKEN = 'WRONGTYPE the token key holds no token'

-- The number that a token key's text stands for, of which `block` tokens are to be reserved; false when it is none, or leaves no
-- room for larger ones.
local function last_token(text, block)
  local last = string.match(text, '^%d+$') and tonumber(text)
  return last and last <= 9007199254740991 - block and last
end

-- Reserves `block` tokens larger than all before; the first, or false when the key does not allow it. `ttl`: for how many ms the
-- key outlives this, or the clock's arrival at a token that lies ahead; half of it at least. '0': for ever.
local function mint(T, now, ttl, block)
  local forever = ttl == '0'
  local before = redis.call('SET', T, now + block - 1, 'KEEPTTL', 'GET')
  if not before then
    if not forever then
      redis.call('PEXPIRE', T, ttl)
    end
    return now
  end
  local last = last_token(before, block)
  if not last then
    redis.call('SET', T, before, 'KEEPTTL')
    return false
  end
  local token = now
  if last >= now then
    token = last + 1
    redis.call('SET', T, string.format('%.0f', token + block - 1), 'KEEPTTL')
  end
  if forever then
    redis.call('PERSIST', T)
    return token
  end
  -- The expiry is put off once in each half of the token's time to live. A token ahead of the clock, which was set back, adds what
  -- it lies ahead: the key has to outlive the clock's way back to it. A token key without expiry belongs to a fleet that also runs
  -- RFencedLock and never gets one from us.
  local half = tonumber(ttl) * 500
  if math.floor(last / half) ~= math.floor(now / half) and redis.call('PTTL', T) ~= -1 then
    redis.call('PEXPIRE', T, ttl + math.ceil((token - now) / 1000))
  end
  return token
end

-- The first of the `block` tokens that the key's text says were given last; false when it says no such thing.
local function last_given(text, block)
  local last = string.match(text, '^%d+$') and tonumber(text)
  return last and last >= block and last - block + 1
end

-- The first token of those that an attempt got when it was first carried out, or of others if the server has forgotten them;
-- false when the key does not allow it.
local function minted(T, now, ttl, block)
  local last = redis.call('GET', T)
  if last then
    return last_given(last, block)
  end
  return mint(T, now, ttl, block)
end


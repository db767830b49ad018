  if kind == 'l' then
    if x > 0 then
      redis.call('LTRIM', key, x, -1)
    end
    u, v, y = at + w, v + cost, cost
    -- The entry gets its text where it is stored.
    redis.call('RPUSH', key, '')
    moved = true
  end

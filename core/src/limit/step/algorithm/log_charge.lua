  if kind == 'l' then
    if x > 0 then
      redis.call('LTRIM', key, x, -1)
    end
    u, v, y = at + w, v + cost, cost
    -- A log has an entry more.
    added, moved = true, true
  end

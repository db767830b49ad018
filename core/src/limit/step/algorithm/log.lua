  -- Sliding log: a list with an entry for each charge, `time total cost`: from when on its tokens may be used, in the log's own time,
  -- and how many were taken since the log began, these included. `u` is the last entry's time, `v` its total, `y` its cost; `w` is how
  -- far the log's time is ahead of the clock, `x` how many entries are over, and `z` what was taken until then.
  --
  -- Its numbers: the most tokens in any interval, and the interval's length in us. An entry that was written at another time, because
  -- its tokens are reserved, or when the log's time was ahead, since the clock was set back, has both behind it: `time total cost
  -- written ahead`. A mark of a block counts on the last entry alone. The key is gone when the last entry is over.
  if kind == 'l' then
    local function read(entry)
      local its, total, own, written, lead = string.match(entry or '', '^(%d+) (%d+) (%d+) ?(%d*) ?(%d*)!?[%d:]*$')
      if not its then
        return nil
      end
      its, total, own = tonumber(its), tonumber(total), tonumber(own)
      local most = math.max(its, total, own, tonumber(written) or 0, tonumber(lead) or 0)
      if most > LARGEST or own > total then
        return nil
      end
      return its, total - own, total, tonumber(written) or its, tonumber(lead) or 0, own
    end
    due = now
    local length = redis.call('LLEN', key)
    if length > 0 and not text then
      -- Nothing but a block.
      x = length
    elseif length > 0 then
      local last, _, total, written, lead, last_cost = read(text)
      if not last then
        return redis.error_reply('WRONGTYPE the key holds no sliding log')
      end
      local stepped = false
      if written > now + lead then
        -- The clock stepped back, and the log's time goes on.
        lead, stepped = written - now, true
      end
      -- The first entry, from `low` on, that is later than `after` and has at least `before` tokens in front of it.
      local function first_of(low, after, before)
        local step, high = 1, low
        while high < length do
          local its, front = read(redis.call('LINDEX', key, high))
          if its and its > after and front >= before then
            break
          end
          low, high, step = high + 1, high + step, step * 2
        end
        high = math.min(high, length)
        while low < high do
          local middle = math.floor((low + high) / 2)
          local its, front = read(redis.call('LINDEX', key, middle))
          if its and its > after and front >= before then
            high = middle
          else
            low = middle + 1
          end
        end
        return low
      end
      local over = first_of(0, now + lead - second, 0)
      if over == length then
        -- Nothing counts any more, and a new log begins.
        x = over
      else
        local _, front = read(redis.call('LINDEX', key, over))
        moved = moved or stepped
        u, v, w, x, y, z = last, total, lead, over, last_cost, math.min(front or 0, total)
        due = math.max(now, last - lead)
        local need = total + asked - first
        local free = first_of(over, -1, need)
        if free > over then
          local its = read(redis.call('LINDEX', key, free - 1))
          due = math.max(due, (its or 0) + second - lead)
        end
      end
    end
  end

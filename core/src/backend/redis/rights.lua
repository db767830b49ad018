-- Which of some commands the user may run. Changes nothing, and runs none of them.
--
-- ARGV     of each command: how many words it has, and the words. As many as the command needs: servers crash on fewer
--
-- Reply    {1 allowed, 0 forbidden or -1 no such command, ...}; {} where scripts cannot ask, before Redis 7.0
local allows, at, answers = redis.acl_check_cmd, 1, {}
while allows and at <= #ARGV do
  local behind = at + 1 + ARGV[at]
  local known, allowed = pcall(allows, unpack(ARGV, at + 1, behind - 1))
  answers[#answers + 1] = not known and -1 or allowed and 1 or 0
  at = behind
end
return answers

-- Gives back tokens that were reserved and are not wanted any more, if nothing was charged since. Reply: 1 nothing is charged any
-- more, 0 it has to stay charged.
--
-- What was charged since keeps its time, before which there could be more room without this charge than it may fill. Not
-- idempotent: a repeat could give back what others paid.
if not all_same then
  return all_gone and 1 or 0
end

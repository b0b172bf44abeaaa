-- The signature that the build which saw the difference last gives it. The key is an older one where older builds made it of a sentence;
-- NULL: seen by those alone.
ALTER TABLE differences ADD COLUMN current_signature TEXT;

/** Every sandbox that the kit starts for a file of this project is as the field is. */
process.env.SANDBOX_PROFILE = 'field';

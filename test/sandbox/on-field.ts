/** Every sandbox of this project's tests has the profile `field`. */
process.env.SANDBOX_PROFILE = 'field';

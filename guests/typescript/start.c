// The initialisation: what the first call would set up is in the image then.
void typescript_warm_up(void);

__attribute__((export_name("wizer-initialize"))) void initialise(void) { typescript_warm_up(); }

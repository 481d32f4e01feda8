// What a test of Node.js asks before it begins: whether Node was built with OpenSSL and with ICU.
process.versions.openssl = '3.0.15';
process.versions.icu = '78.2';
Object.assign(process.config.variables, { v8_enable_i18n_support: 1 });

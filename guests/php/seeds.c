// Which generators of random numbers seeded themselves. Those draw another seed where other instances may go on from the
// same saved state; those that a program has seeded go on with their sequence.
#include "guest_php.h"

#include "ext/gmp/php_gmp.h"
#include "ext/random/php_random.h"
#include "zend_exceptions.h"

ZEND_EXTERN_MODULE_GLOBALS(gmp)

// Set in an object's extra flags, of which PHP uses the highest ones: its seed was not the program's.
#define SELF_SEEDED 1u

typedef void (*function)(INTERNAL_FUNCTION_PARAMETERS);

// The generator behind `mt_rand` has a seed of the program's.
static bool given;
// So has GMP's.
static bool gmp_given;
// There have been engines that seeded themselves.
static bool engines;

static function plain_mt_srand, plain_gmp_random_seed, plain_unserialize;

// The classes of engines that have a state of their own.
static struct {
  zend_class_entry **class;
  function construct;
} classes[] = {
    {&random_ce_Random_Engine_Mt19937, NULL},
    {&random_ce_Random_Engine_PcgOneseq128XslRr64, NULL},
    {&random_ce_Random_Engine_Xoshiro256StarStar, NULL},
};
#define CLASSES (sizeof classes / sizeof *classes)

static bool has_seed(zend_execute_data *execute_data) {
  return ZEND_NUM_ARGS() > 0 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) > IS_NULL;
}

static void mt_srand(INTERNAL_FUNCTION_PARAMETERS) {
  plain_mt_srand(INTERNAL_FUNCTION_PARAM_PASSTHRU);
  if (!EG(exception)) given = has_seed(execute_data);
}

static void gmp_random_seed(INTERNAL_FUNCTION_PARAMETERS) {
  plain_gmp_random_seed(INTERNAL_FUNCTION_PARAM_PASSTHRU);
  if (!EG(exception)) gmp_given = true;
}

static void construct(INTERNAL_FUNCTION_PARAMETERS) {
  zend_object *engine = Z_OBJ_P(ZEND_THIS);
  for (size_t i = 0; i < CLASSES; i++) {
    if (*classes[i].class == engine->ce) classes[i].construct(INTERNAL_FUNCTION_PARAM_PASSTHRU);
  }
  if (EG(exception)) return;
  if (has_seed(execute_data)) {
    engine->extra_flags &= ~SELF_SEEDED;
  } else {
    engine->extra_flags |= SELF_SEEDED;
    engines = true;
  }
}

static void unserialize(INTERNAL_FUNCTION_PARAMETERS) {
  plain_unserialize(INTERNAL_FUNCTION_PARAM_PASSTHRU);
  Z_OBJ_P(ZEND_THIS)->extra_flags &= ~SELF_SEEDED;
}

// Takes the place of a function; returns what was there.
static function replace(HashTable *functions, const char *name, function own) {
  zend_function *found = zend_hash_str_find_ptr(functions, name, strlen(name));
  if (!found) abort();
  function before = found->internal_function.handler;
  found->internal_function.handler = own;
  return before;
}

void seeds_install(void) {
  plain_mt_srand = replace(CG(function_table), "mt_srand", mt_srand);
  replace(CG(function_table), "srand", mt_srand);
  plain_gmp_random_seed = replace(CG(function_table), "gmp_random_seed", gmp_random_seed);
  for (size_t i = 0; i < CLASSES; i++) {
    HashTable *functions = &(*classes[i].class)->function_table;
    classes[i].construct = replace(functions, "__construct", construct);
    plain_unserialize = replace(functions, "__unserialize", unserialize);
  }
}

void seeds_begin_request(void) { given = gmp_given = engines = false; }

// Gives an engine another seed. Without entropy it keeps what it has.
static void reseed(php_random_algo_with_state engine) {
  union {
    uint32_t word;
    php_random_uint128_t pair;
    uint64_t four[4];
  } seed;
  do {
    if (php_random_bytes_silent(&seed, sizeof seed) == FAILURE) return;
  } while (!(seed.four[0] | seed.four[1] | seed.four[2] | seed.four[3]));
  if (engine.algo == &php_random_algo_mt19937) {
    php_random_mt19937_seed32(engine.state, seed.word);
  } else if (engine.algo == &php_random_algo_pcgoneseq128xslrr64) {
    php_random_pcgoneseq128xslrr64_seed128(engine.state, seed.pair);
  } else {
    php_random_xoshiro256starstar_seed256(engine.state, seed.four[0], seed.four[1], seed.four[2], seed.four[3]);
  }
}

void seeds_wake(void) {
  if (!driver_restored()) return;
  driver_reseed_sqlite();
  RANDOM_G(combined_lcg_seeded) = false;
  // Not only marked as to be seeded, which would also forget its variant.
  if (RANDOM_G(mt19937_seeded) && !given) php_random_mt19937_seed_default(&RANDOM_G(mt19937));
  if (GMPG(rand_initialized) && !gmp_given) {
    gmp_randclear(GMPG(rand_state));
    GMPG(rand_initialized) = false;
  }
  if (!engines) return;
  for (uint32_t i = 1; i < EG(objects_store).top; i++) {
    zend_object *object = EG(objects_store).object_buckets[i];
    if (!IS_OBJ_VALID(object) || !(object->extra_flags & SELF_SEEDED)) continue;
    for (size_t class = 0; class < CLASSES; class++) {
      if (object->ce == *classes[class].class) reseed(php_random_engine_from_obj(object)->engine);
    }
  }
}

/* Sizes that a Parquet file declares in its headers, which are structures of Thrift's compact protocol. Anything unusual
   counts as a failure: a slower reader then reports what is wrong, if anything is. No byte beyond the end is read. */
#include "lanes.h"

/* Structures in structures, of which a file has five. */
#define DEEPEST 12
/* Larger numbers count as a failure, so that sums of them cannot overflow. */
#define LARGEST ((int64_t)1 << 48)
enum { YES = 1, NO, BYTE, SHORT, INT, LONG, DOUBLE, TEXT, LIST, SET, STRUCTURE = 12 };

typedef struct {
    const uint8_t *at, *end;
    int failed;
} Input;

typedef struct {
    int64_t number, kind;
} Field;

static int64_t fail(Input *input) {
    input->failed = 1;
    return 0;
}

static int64_t next_byte(Input *input) { return input->at < input->end ? *input->at++ : fail(input); }

static int64_t next_unsigned(Input *input) {
    int64_t value = 0;
    for (int shift = 0; shift < 56; shift += 7) {
        int64_t byte = next_byte(input);
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
    }
    return fail(input);
}

static int64_t next_signed(Input *input) {
    int64_t value = next_unsigned(input);
    return (value >> 1) ^ -(value & 1);
}

/* A number from 0 to LARGEST. */
static int64_t next_size(Input *input, int64_t kind) {
    int64_t value = kind >= SHORT && kind <= LONG ? next_signed(input) : -1;
    return value < 0 || value > LARGEST ? fail(input) : value;
}

static void step(Input *input, int64_t length) {
    if (length < 0 || length > input->end - input->at)
        fail(input);
    else
        input->at += length;
}

/* The next field of a structure; returns 0 at its end and after a failure. Numbers of fields ascend. */
static int next_field(Input *input, Field *field) {
    int64_t head = next_byte(input), before = field->number;
    if (input->failed || !head) return 0;
    field->kind = head & 15;
    field->number = head >> 4 ? before + (head >> 4) : next_signed(input);
    if (field->number <= before) fail(input);
    return !input->failed;
}

/* How many items a list has, all of one kind. */
static int64_t next_count(Input *input, int64_t *kind) {
    int64_t head = next_byte(input);
    *kind = head & 15;
    return head >> 4 < 15 ? head >> 4 : next_unsigned(input);
}

static void skip(Input *input, int64_t kind, int depth);

static void skip_structure(Input *input, int depth) {
    Field field = {0, 0};
    while (next_field(input, &field))
        if (field.kind != YES && field.kind != NO) skip(input, field.kind, depth + 1);
}

static void skip_items(Input *input, int depth) {
    int64_t kind, count = next_count(input, &kind);
    if (kind < YES || kind > STRUCTURE) fail(input); /* Of an empty list as well. */
    for (int64_t i = 0; i < count && !input->failed; i++) skip(input, kind, depth + 1);
}

static void skip(Input *input, int64_t kind, int depth) {
    if (depth > DEEPEST)
        fail(input);
    else if (kind == YES || kind == NO || kind == BYTE)
        next_byte(input);
    else if (kind >= SHORT && kind <= LONG)
        next_unsigned(input);
    else if (kind == DOUBLE)
        step(input, 8);
    else if (kind == TEXT)
        step(input, next_unsigned(input));
    else if (kind == LIST || kind == SET)
        skip_items(input, depth);
    else if (kind == STRUCTURE)
        skip_structure(input, depth);
    else
        fail(input);
}

static void skip_field(Input *input, const Field *field) {
    if (field->kind != YES && field->kind != NO) skip(input, field->kind, 1);
}

/* Where the first name of a path is, which must have one. */
static void read_path(Input *input, const uint8_t *start, int64_t *name) {
    int64_t kind, count = next_count(input, &kind);
    if (!count || kind != TEXT) {
        fail(input);
        return;
    }
    name[1] = next_unsigned(input);
    name[0] = input->at - start;
    step(input, name[1]);
    for (int64_t i = 1; i < count && !input->failed; i++) skip(input, kind, 1);
}

/* The metadata of a column chunk: its values, where its first page is, and where its name begins and how long it is. */
static void read_metadata(Input *input, const uint8_t *start, int64_t *chunk) {
    Field field = {0, 0};
    int64_t values = -1, data = -1, dictionary = 0, name[2] = {-1, -1};
    while (next_field(input, &field)) {
        if (field.number == 3 && field.kind == LIST)
            read_path(input, start, name);
        else if (field.number == 5)
            values = next_size(input, field.kind);
        else if (field.number == 9)
            data = next_size(input, field.kind);
        else if (field.number == 11)
            dictionary = next_size(input, field.kind);
        else
            skip_field(input, &field);
    }
    if (values < 0 || data < 0 || name[0] < 0) fail(input);
    chunk[0] = values;
    chunk[1] = dictionary ? dictionary : data;
    chunk[2] = name[0];
    chunk[3] = name[1];
}

/* Reads one field of a structure, which must exist, and skips all others. */
static void find_field(Input *input, Field *field, int64_t number, int64_t kind) {
    while (next_field(input, field)) {
        if (field->number == number && field->kind == kind) return;
        skip_field(input, field);
    }
    fail(input);
}

static void leave_structure(Input *input, Field *field) {
    while (next_field(input, field)) skip_field(input, field);
}

typedef struct {
    const uint8_t *start;
    int64_t count, most, *chunks;
} Chunks;

static void read_chunk(Input *input, Chunks *to) {
    if (to->count == to->most) {
        fail(input);
        return;
    }
    Field field = {0, 0};
    find_field(input, &field, 3, STRUCTURE);
    if (!input->failed) read_metadata(input, to->start, to->chunks + 4 * to->count++);
    leave_structure(input, &field);
}

static void read_structures(Input *input, Chunks *to, void (*read)(Input *, Chunks *)) {
    int64_t kind, count = next_count(input, &kind);
    if (kind != STRUCTURE) fail(input);
    for (int64_t i = 0; i < count && !input->failed; i++) read(input, to);
}

static void read_group(Input *input, Chunks *to) {
    Field field = {0, 0};
    find_field(input, &field, 1, LIST);
    read_structures(input, to, read_chunk);
    leave_structure(input, &field);
}

/* The column chunks of a footer, at most `most`, four numbers each; returns how many by `count`, -1 after a failure. */
EXPORT void NAME(parquet_chunks)(const uint8_t *footer, int64_t size, int64_t most, int64_t *chunks, int64_t *count) {
    Input input = {footer, footer + size, 0};
    Chunks to = {footer, 0, most, chunks};
    Field field = {0, 0};
    find_field(&input, &field, 4, LIST);
    read_structures(&input, &to, read_group);
    leave_structure(&input, &field);
    *count = input.failed ? -1 : to.count;
}

/* Values of a page, which are the first field of its own header. */
static int64_t read_values(Input *input) {
    Field field = {0, 0};
    int64_t values = 0;
    while (next_field(input, &field)) {
        if (field.number == 1)
            values = next_size(input, field.kind);
        else
            skip_field(input, &field);
    }
    return values;
}

/* The pages whose headers are in some bytes of a file. `state` holds the number of values expected, that of the pages so
   far, the bytes these unpack to, and the position of the next page from the first of these bytes on. It ends before a
   header that is incomplete or unusual. */
static void read_pages(const uint8_t *data, int64_t size, int64_t *state) {
    while (state[1] < state[0] && state[3] < size) {
        Input input = {data + state[3], data + size, 0};
        Field field = {0, 0};
        int64_t values = 0, unpacked = -1, packed = -1;
        while (next_field(&input, &field)) {
            if (field.number == 2)
                unpacked = next_size(&input, field.kind);
            else if (field.number == 3)
                packed = next_size(&input, field.kind);
            else if (field.number == 5 || field.number == 7 || field.number == 8) {
                int64_t own = field.kind == STRUCTURE ? read_values(&input) : fail(&input);
                values += field.number == 7 ? 0 : own; /* Those of a dictionary are no rows. */
            } else
                skip_field(&input, &field);
        }
        if (input.failed || unpacked < 0 || packed < 0 || values > state[0] - state[1] || unpacked > LARGEST - state[2])
            return;
        state[1] += values;
        state[2] += unpacked;
        state[3] = input.at - data + packed;
    }
}

/* The same for several windows, one behind another: window i ends at `ends[i]`, and has four numbers in `states`. */
EXPORT void NAME(parquet_pages)(const uint8_t *windows, const int64_t *ends, int64_t n, int64_t *states) {
    for (int64_t i = 0, start = 0; i < n; start = ends[i++]) read_pages(windows + start, ends[i] - start, states + 4 * i);
}

/* The likelihood of a softmax of linear scores: its derivatives with respect to the logits, and the sums over rows that
   its Hessian is made of. See `calibrant._core.softmax`. */
#include "lanes.h"

#define NOT_A_NUMBER __builtin_nan("")

INLINE int is_finite(double x) { return x - x == 0.0; }

/* The largest logit of a row: not finite if one of them is NaN or infinite upwards, or if all are infinite downwards. */
INLINE double largest_logit(const double *logits, int64_t n_classes) {
    double top = logits[0], odd = 0.0;
    for (int64_t k = 0; k < n_classes; k++) {
        top = logits[k] > top ? logits[k] : top;
        if (logits[k] != logits[k]) odd = NOT_A_NUMBER;
    }
    return top + odd;
}

/* Subtract the largest logit of a row, write the exponentials of what is left, and return their sum. */
INLINE double exponentials(double *logits, int64_t n_classes, double top, double *out) {
    Lanes sum = repeat(0.0);
    int64_t k = 0;
    for (; k + LANES <= n_classes; k += LANES) {
        Lanes below = load(logits + k) - top;
        Lanes power = exp_lanes(below);
        store(logits + k, below);
        store(out + k, power);
        sum += power;
    }
    if (k < n_classes) {
        ALIGNED double rest[LANES];
        for (int i = 0; i < LANES; i++) rest[i] = 2.0 * LOWEST; /* Its exponential is 0. */
        for (int64_t i = k; i < n_classes; i++) rest[i - k] = logits[i] -= top;
        Lanes power = exp_lanes(load(rest));
        store(rest, power);
        for (int64_t i = k; i < n_classes; i++) out[i] = rest[i - k];
        sum += power;
    }
    return total(sum);
}

/* Add a term to a sum, and what rounding takes from it to `lost`. */
INLINE void add_exactly(double *sum, double *lost, double term) {
    double grown = *sum + term;
    *lost += __builtin_fabs(*sum) >= __builtin_fabs(term) ? (*sum - grown) + term : (term - grown) + *sum;
    *sum = grown;
}

/* Write the softmax of every row of logits; replace the logits by the derivatives of the log loss with weights `share`;
   and write the loss. A row of logits that are no numbers has no loss and no derivatives that are.
   The loss is summed without loss of digits: near the minimum, a search compares losses that differ in the last one. */
EXPORT void NAME(softmax_residuals)(double *logits, const int64_t *labels, const double *share, int64_t n,
                                    int64_t n_classes, double *probs, double *loss) {
    double sum = 0.0, lost = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double *row = logits + i * n_classes, *p = probs + i * n_classes;
        double top = largest_logit(row, n_classes), weight = share[i];
        if (!is_finite(top)) {
            for (int64_t k = 0; k < n_classes; k++) row[k] = p[k] = NOT_A_NUMBER;
            sum = NOT_A_NUMBER;
            continue;
        }
        double mass = exponentials(row, n_classes, top, p), per_mass = 1.0 / mass;
        add_exactly(&sum, &lost, weight * (log_lanes(repeat(mass))[0] - row[labels[i]]));
        for (int64_t k = 0; k < n_classes; k++) {
            p[k] *= per_mass;
            row[k] = p[k] * weight;
        }
        row[labels[i]] -= weight;
    }
    *loss = is_finite(sum) ? sum + lost : sum;
}

/* Rows of data that are looked at together; sums that stay in registers: DOWN times ACROSS of them. */
#define HEIGHT 32
#define DOWN 6
#define ACROSS 2

/* Write factor times the product of every two entries of a row, each with the same and all later ones. */
INLINE double *write_pairs(const double *row, int64_t n, double factor, double *out) {
    for (int64_t j = 0; j < n; j++) {
        double own = row[j] * factor;
        for (int64_t k = j; k < n; k++) *out++ = own * row[k];
    }
    return out;
}

/* Add to sums, of `width` columns, the products of DOWN factors with ACROSS registers of products over some rows. */
INLINE void add_products(const double *factors, int64_t n_factors, const double *products, int64_t width, int64_t height,
                         double *sums) {
    Lanes found[DOWN][ACROSS];
    for (int d = 0; d < DOWN; d++)
        for (int a = 0; a < ACROSS; a++) found[d][a] = load(sums + d * width + a * LANES);
    for (int64_t t = 0; t < height; t++) {
        Lanes across[ACROSS];
        for (int a = 0; a < ACROSS; a++) across[a] = load(products + t * width + a * LANES);
        for (int d = 0; d < DOWN; d++)
            for (int a = 0; a < ACROSS; a++) found[d][a] += across[a] * factors[t * n_factors + d];
    }
    for (int d = 0; d < DOWN; d++)
        for (int a = 0; a < ACROSS; a++) store(sums + d * width + a * LANES, found[d][a]);
}

/* Write the sums over rows of the products of two features times probabilities, then times minus products of two of
   these, all of them with weights `share`. `n_factors` and `width` are their numbers, filled up to whole blocks; `work`
   holds HEIGHT rows of each, and the sums have `width` columns. What fills up is 0 in `work`. */
EXPORT void NAME(softmax_curvature)(const double *probs, const double *share, const double *features, int64_t n,
                                    int64_t n_classes, int64_t n_features, int64_t n_factors, int64_t width, double *work,
                                    double *sums) {
    double *factors = work, *products = work + HEIGHT * n_factors;
    for (int64_t i = 0; i < n_factors * width; i++) sums[i] = 0.0;
    for (int64_t start = 0; start < n; start += HEIGHT) {
        int64_t height = smallest(HEIGHT, n - start);
        for (int64_t t = 0; t < height; t++) {
            const double *p = probs + (start + t) * n_classes;
            double *to = factors + t * n_factors, weight = share[start + t];
            for (int64_t k = 0; k < n_classes; k++) to[k] = p[k] * weight;
            write_pairs(p, n_classes, -weight, to + n_classes);
            write_pairs(features + (start + t) * n_features, n_features, 1.0, products + t * width);
        }
        for (int64_t across = 0; across < width; across += ACROSS * LANES)
            for (int64_t down = 0; down < n_factors; down += DOWN)
                add_products(factors + down, n_factors, products + across, width, height, sums + down * width + across);
    }
}

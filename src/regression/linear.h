/* linear.h -- the few dense operations this room needs, over LAPACK.
 *
 * Symmetric matrices are stored in full, so row- and column-major order are the
 * same and nothing is ever transposed. OpenBLAS is held to one thread: our
 * matrices are small, and a result must not depend on the number of cores. */
#ifndef TREMOLO_LINEAR_H
#define TREMOLO_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "tremolo_status.h"

/* A NULL-safe array of doubles, zeroed; NULL when out of memory. */
double *linear_new(size_t count);

/* Several of them in one piece of memory, which is returned and freed as one; NULL when there is
 * none. Each begins at a multiple of 16 bytes, as those of linear_new() do. */
struct linear_array {
    double **at;
    size_t count;
};
double *linear_new_arrays(const struct linear_array *arrays, size_t count);
#define LINEAR_NEW(...)                                                                            \
    linear_new_arrays((const struct linear_array[]){__VA_ARGS__},                                  \
                      sizeof((const struct linear_array[]){__VA_ARGS__}) /                         \
                          sizeof(struct linear_array))

/* to <- the first d rows and columns of `from` (n * n). */
void linear_block(double *to, const double *from, size_t d, size_t n);

/* Factor the positive definite A (n * n) in place; the lower triangle of A (upper
 * in row-major reading) holds the factor. False when A is not positive definite. */
bool linear_cholesky(double *A, size_t n);

/* X <- A^-1 X for `columns` right-hand sides stored one after the other, with the
 * factor from linear_cholesky. */
void linear_cholesky_solve(double *X, const double *factor, size_t n, size_t columns);

/* A <- A^-1 of a positive definite A, and log det A; false when A is not positive definite. */
bool linear_positive_inverse(double *A, double *logdet, size_t n);

/* Eigenvalues in ascending order; A becomes the eigenvectors, one after the
 * other (vector k is A[k*n .. k*n+n-1]). False when LAPACK does not converge. */
bool linear_eigen(double *values, double *A, size_t n);

/* Only the eigenvalues; A is lost. */
bool linear_eigenvalues(double *values, double *A, size_t n);

/* C <- A B for full column-major n * n matrices; with `transposed`, A' B. */
void linear_multiply(double *C, const double *A, const double *B, size_t n, bool transposed);

/* C <- C + factor times the sum over `count` rows of n numbers of row row'; only C[i * n + j] with
 * j <= i. */
void linear_gram(double *C, double factor, const double *rows, size_t n, size_t count);

/* Invert the symmetric, possibly indefinite A in place through its eigenvalues.
 * SINGULAR when the smallest is below n * 2^-52 of the largest in size. */
TREMOLO_MUST_USE enum tremolo_status linear_inverse(double *A, size_t n);

/* x <- A^-1 x for the same A, which is lost; much faster than the inverse. SINGULAR when the
 * reciprocal of its condition, as LAPACK estimates it, is below n * 2^-52. NO_MEMORY. */
TREMOLO_MUST_USE enum tremolo_status linear_solve(double *x, double *A, size_t n);

double linear_dot(const double *a, const double *b, size_t n);

/* y <- y + a x */
void linear_add(double *y, double a, const double *x, size_t n);

/* y <- A x for a symmetric A. */
void linear_apply(double *y, const double *A, const double *x, size_t n);

/* a' A b */
double linear_form(const double *a, const double *A, const double *b, size_t n);

#endif

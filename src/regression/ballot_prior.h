/* ballot_prior.h -- what is expected of moments before any ballot; for this module only.
 *
 * x lies within -1..1 for about nine of ten devices, and w within -g..g. */
#ifndef TREMOLO_BALLOT_PRIOR_H
#define TREMOLO_BALLOT_PRIOR_H

#define VARIANCE_CENTRE (-1.0498221244986778) /* log 0.35: a normal one's is 0.37 */
#define SCALE_CENTRE    0.59160797830996161   /* its root */
#define VARIANCE_SPREAD 1.0
#define PUBLIC_SPREAD   0.3 /* of the log variance of a public response about its own */
#define SHARE_CENTRE    0.0 /* logit of the part of a feature's variance that is common */
#define SHARE_SPREAD    2.0
#define PART_SPREAD     2.0    /* of the logits of what each factor has of that */
#define WSHARE_CENTRE   (-4.0) /* logit of the part of w that the features explain */
#define WSHARE_SPREAD   4.0
#define MEAN_SPREAD     0.6 /* of means, which are */
#define NEAR_SHARE      0.5 /* with this probability */
#define NEAR_SPREAD     0.2 /* so much nearer to the middle */

#endif

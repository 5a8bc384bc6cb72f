/**
 * Divides the server's seats among priority levels. Each level has a nominal share; unused seats are lent to
 * levels with more demand, within limits.
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#seats-occupied-by-a-request
 */
export interface Shares {
  readonly isExempt: boolean
  readonly nominalShares: number
  readonly lendablePercent: number
  /** Unlimited when undefined. */
  readonly borrowingPercent: number | undefined
}

/** In seats. */
export interface ConcurrencyBounds {
  readonly nominal: number
  /** Seats left when everything lendable is lent. */
  readonly min: number
  /** Seats when borrowing up to the limit. */
  readonly max: number
}

export function boundsOf(shares: Shares, totalShares: number, serverSeats: number): ConcurrencyBounds {
  const { nominalShares, lendablePercent, borrowingPercent } = shares
  const nominal = totalShares === 0 ? 0 : Math.ceil((serverSeats * nominalShares) / totalShares)
  const lendable = Math.round((nominal * lendablePercent) / 100)
  const borrowable =
    borrowingPercent === undefined ? serverSeats : Math.round((nominal * borrowingPercent) / 100)
  return {
    nominal,
    min: nominal - lendable,
    max: Math.min(Math.max(serverSeats, nominal), nominal + borrowable),
  }
}

/** Seats in use or waited for during the last period. */
export interface Demand {
  readonly high: number
  readonly average: number
  readonly deviation: number
}

export interface LevelState extends ConcurrencyBounds {
  readonly isExempt: boolean
  readonly demand: Demand
  /** Smoothed demand of the previous plan. */
  readonly smoothed: number
}

export interface LevelPlan {
  /** Seats the level may use until the next plan. */
  readonly limit: number
  readonly smoothed: number
  readonly target: number
}

export interface ConcurrencyPlan {
  /** In the order of the levels. */
  readonly levels: readonly LevelPlan[]
  /** The fraction of its target that each level gets, within its bounds. */
  readonly fairFraction: number
}

/**
 * Smoothing coefficient: demand decays slowly, so that a level that pauses does not lose its seats at once.
 */
const memory = 0.977

export function planConcurrencyLimits(levels: readonly LevelState[], serverSeats: number): ConcurrencyPlan {
  const wanted = levels.map(level => {
    const { min, nominal, demand, smoothed } = level
    const envelope = Math.min(demand.high, demand.average + demand.deviation)
    const smooth = Math.max(envelope, memory * smoothed + (1 - memory) * envelope)
    const low = Math.max(min, Math.min(nominal, demand.high))
    return { level, smooth, low, target: Math.max(low, smooth) }
  })
  const taken = wanted.filter(({ level }) => level.isExempt).reduce((sum, { low }) => sum + low, 0)
  const wishes = wanted
    .filter(({ level }) => !level.isExempt)
    .map(({ level, ...wish }) => ({ ...wish, high: level.max }))
  const fraction = fairFraction(wishes, serverSeats - taken)
  const planned = wanted.map(({ level, smooth, low, target }) => ({
    limit: level.isExempt ? low : Math.round(clamp(fraction * target, low, level.max)),
    smoothed: smooth,
    target,
  }))
  return { levels: planned, fairFraction: fraction }
}

interface BorrowingTarget {
  readonly target: number
  readonly low: number
  readonly high: number
}

/**
 * The fraction of its target that each level gets, subject to its bounds, such that all seats are
 * distributed.
 */
function fairFraction(wishes: readonly BorrowingTarget[], seats: number): number {
  const given = (fraction: number): number =>
    wishes.reduce((sum, { target, low, high }) => sum + clamp(fraction * target, low, high), 0)
  const most = Math.max(1, ...wishes.map(({ target, high }) => (target > 0 ? high / target : 0)))
  if (given(0) >= seats) return 0
  if (given(most) <= seats) return most
  let [low, high] = [0, most]
  for (let step = 0; step < bisections; step++) {
    const middle = (low + high) / 2
    if (given(middle) < seats) low = middle
    else high = middle
  }
  return low
}

/** Sufficient for full double precision. */
const bisections = 60

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), Math.max(low, high))
}

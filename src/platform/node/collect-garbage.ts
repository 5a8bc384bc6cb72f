import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Collects garbage once. In the half minute that follows the engine sees for itself that little happens, and gives
 * back what it does not need; but it only begins to look when it has collected, and a program that does next to
 * nothing after its start would keep for hours what only the start needed.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { readonly type: 'major' }) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major' })
}

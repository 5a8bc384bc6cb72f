/** Flags of commands that read objects: namespaces, pages of lists. The selector is in `write-flags.ts`. */
import { boolFlag, intFlag } from './flag-types.ts'

export const allNamespacesFlag = boolFlag('Include the objects of all namespaces.', { shorthand: 'A' })

export const chunkSizeFlag = intFlag(
  'Number of objects per request of a large list; 0 requests all at once.',
  {
    shownDefault: '500',
  },
)

/** Keys of the store whose changes are recorded: all objects but those below. */
import { storeRoot } from '../registry/store-keys.ts'

export function isRecorded(key: string): boolean {
  return !omitted.some(prefix => key.startsWith(prefix))
}

const omitted = [
  // They are a history themselves, and many.
  'events/',
  // Renewed every few seconds by each node and each component; only the present holder matters.
  'leases/',
  // Not objects: addresses of API servers, and the allocated node ports.
  'masterleases/',
  'ranges/',
].map(folder => `${storeRoot}${folder}`)

/** Of records that only say that nothing before their revision is missing. */
export const progressKey = '/progress'

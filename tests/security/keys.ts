/** Keys for one run of a test file; they protect nothing. */
import { generateKeyPairSync } from 'node:crypto'

/** Signs service account tokens; PEM encoded. */
export const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
})

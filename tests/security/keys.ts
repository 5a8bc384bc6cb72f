/** Keys for one run of a test file: nothing that protects anything. */
import { generateKeyPairSync } from 'node:crypto'

/** With which tokens of service accounts are signed, as PEM. */
export const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
})

/** Authorization checks on certificate signers. */
import type { Authorizer } from '../../authz/authorizer.ts'
import type { UserInfo } from '../../request.ts'

export interface SignerAttributes {
  readonly user: UserInfo
  readonly verb: 'approve' | 'attest' | 'sign'
  readonly signerName: string
}

/** Checks permission on the signer itself, then on all signers of its domain (`domain/*`). */
export async function isAuthorizedForSigner(
  authorizer: Authorizer,
  { user, verb, signerName }: SignerAttributes,
): Promise<boolean> {
  const [domain = ''] = signerName.split('/')
  for (const name of [signerName, `${domain}/*`]) {
    const { decision } = await authorizer.authorize({
      user,
      isResource: true,
      verb,
      name,
      group: 'certificates.k8s.io',
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
    })
    if (decision === 'allow') return true
  }
  return false
}

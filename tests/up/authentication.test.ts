/** Authentication as configured by an administrator on a real server. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { keyIdOf } from '#/base/json-web-key.ts'
import { decodeToken } from '#/base/json-web-token.ts'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type ClusterCertificates,
} from '#/kubeadm/certificates.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { startOidcIssuer } from '../oidc-issuer.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { post, up, whoAmI } from './process.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const machine = { platform, crypto: nodeCrypto() }

/** Separate certificate authorities, and a certificate for localhost. */
function strangers(folder: string): Promise<ClusterCertificates> {
  return ensureClusterCertificates({ ...machine, folder: join(folder, 'strangers'), serverNames: [] })
}

test('OIDC tokens and certificates of a client CA authenticate users', async t => {
  const folder = await temporaryFolder(t)
  const certificates = await strangers(folder)
  const { url, tokenOf } = await startOidcIssuer(t, certificates)
  const authority = join(folder, 'strangers', 'ca.crt')
  const cluster = await up(
    t,
    join(folder, 'data'),
    `--store memory --client-ca-file ${authority}`,
    `--oidc-issuer-url ${url} --oidc-client-id k8s --oidc-ca-file ${authority}`,
    '--oidc-groups-claim=groups --oidc-groups-prefix=corp: --oidc-required-claim=hd=example.com',
  )
  const claims = { sub: 'zoe', groups: ['dev'], hd: 'example.com' }
  assert.deepEqual(await whoAmI(cluster, tokenOf(claims)), {
    username: `${url}#zoe`,
    groups: ['corp:dev', 'system:authenticated'],
  })
  assert.equal(await whoAmI(cluster, tokenOf({ ...claims, hd: 'other.com' })), 401)
  assert.equal(await whoAmI(cluster, tokenOf({ ...claims, aud: 'other' })), 401)
  assert.equal(await whoAmI(cluster, tokenOf({ ...claims, exp: 1 })), 401)
  const profile = { commonName: 'carl', organizations: [], usage: 'client', names: [] } as const
  const wanted = { profile, ca: certificates.ca, existing: undefined }
  const carl = await ensureCertificate(machine, wanted)
  assert.equal((await cluster.ask('/version', { ...carl })).status, 200)
  assert.match((await cluster.ask('/api/v1/pods', { ...carl })).text, /User \\"carl\\" cannot list/)
})

test('AuthenticationConfiguration maps claims with CEL and allows anonymous paths', async t => {
  const folder = await temporaryFolder(t)
  const certificates = await strangers(folder)
  const { url, tokenOf } = await startOidcIssuer(t, certificates)
  const file = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url, audiences: ['k8s'], certificateAuthority: certificates.ca.cert },
        claimValidationRules: [
          { expression: 'claims.email_verified == true', message: 'verify the address first' },
        ],
        claimMappings: {
          username: { expression: "claims.email.split('@')[0]" },
          groups: { expression: "claims.roles.map(role, 'role:' + role)" },
          extra: [{ key: 'example.com/team', valueExpression: 'claims.?team.orValue("")' }],
        },
        userValidationRules: [{ expression: "!user.username.startsWith('system')" }],
      },
    ],
    anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
  }
  await writeFile(join(folder, 'authentication.yaml'), JSON.stringify(file))
  const flags = `--store memory --authentication-config ${folder}/authentication.yaml`
  const cluster = await up(t, join(folder, 'data'), flags)
  const claims = { email: 'zoe@example.com', email_verified: true, roles: ['dev'], team: 'a' }
  assert.deepEqual(await whoAmI(cluster, tokenOf(claims)), {
    username: 'zoe',
    groups: ['role:dev', 'system:authenticated'],
    extra: { 'example.com/team': ['a'] },
  })
  assert.equal(await whoAmI(cluster, tokenOf({ ...claims, email_verified: false })), 401)
  assert.equal(await whoAmI(cluster, tokenOf({ ...claims, email: 'system-admin@example.com' })), 401)
  assert.equal((await cluster.askAs({}, '/livez')).status, 200)
  assert.equal((await cluster.askAs({}, '/version')).status, 401)
})

function pem(key: KeyObject): string {
  return key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' })
}

test('flags set the signing key and the audiences of service account tokens', async t => {
  const folder = await temporaryFolder(t)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(join(folder, 'sa.key'), pem(privateKey))
  await writeFile(join(folder, 'sa.pub'), pem(publicKey))
  const cluster = await up(
    t,
    join(folder, 'data'),
    '--store memory --service-account-issuer https://new --service-account-issuer https://old',
    `--service-account-signing-key-file ${folder}/sa.key --service-account-key-file ${folder}/sa.pub`,
    '--api-audiences here,there --service-account-max-token-expiration 2h',
  )
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await post(cluster, accounts, { metadata: { name: 'robot' } })
  const request = { spec: { expirationSeconds: 100_000 } }
  const { status, text } = await post(cluster, `${accounts}/robot/token`, request)
  assert.equal(status, 201, text)
  const { token } = (JSON.parse(text) as { readonly status: { readonly token: string } }).status
  const { iss, aud, exp, iat } = decodeToken(token)!.claims
  assert.deepEqual([iss, aud, Number(exp) - Number(iat)], ['https://new', ['here', 'there'], 7_200])
  const known = (await whoAmI(cluster, { authorization: `Bearer ${token}` })) as { readonly username: string }
  assert.equal(known.username, 'system:serviceaccount:default:robot')
  const keys = await cluster.ask('/openid/v1/jwks')
  assert.match(keys.text, new RegExp(keyIdOf(publicKey)))
})

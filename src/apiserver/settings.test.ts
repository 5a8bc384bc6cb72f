import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { parseFlags, UsageError } from '#/base/flags.ts'
import { Simulation } from '#/platform/simulated.ts'
import { testCertificates } from '../../tests/http/test-certificates.ts'
import { apiServerFlags, describeApiServerFlags } from './flags.ts'
import { readApiServerSettings, type ApiServerSettings } from './settings.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' })
const configuration = (kind: string, rest: string): string =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: ${kind}\n${rest}\n`

const webhook = (rest: string): string =>
  `authorizers: [{type: Webhook, name: a, webhook: {timeout: 3s, subjectAccessReviewVersion: v1,` +
  ` failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /hook.conf}, ${rest}}}]`

const files: Record<string, string> = {
  '/policy': 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n',
  '/bad-policy': 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Everything}]\n',
  '/tokens': 'secret,alice,1\n',
  '/bad-tokens': 'secret,alice\n',
  '/abac': '{"user": "alice", "resource": "pods"}\n',
  '/bad-abac': '{"user": 7}\n',
  '/key': keyPem,
  '/hook.conf':
    'current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n' +
    "clusters: [{name: c, cluster: {server: 'https://hook.example.com/ask'}}]\n",
  '/empty.conf': 'contexts: []\n',
  '/keys.yaml': configuration(
    'EncryptionConfiguration',
    'resources: [{resources: [secrets], providers: [{identity: {}}]}]',
  ),
  '/bad-keys.yaml': configuration(
    'EncryptionConfiguration',
    'resources: [{resources: [secrets], providers: [{aesgcm: {keys: [{name: a, secret: c2hvcnQ=}]}}]}]',
  ),
  '/authn.yaml': configuration('AuthenticationConfiguration', 'anonymous: {enabled: false}'),
  '/bad-authn.yaml': configuration('AuthenticationConfiguration', 'jwt: [{issuer: {audiences: x}}]'),
  '/authz.yaml': configuration(
    'AuthorizationConfiguration',
    webhook('authorizedTTL: 1m, cacheUnauthorizedRequests: false').replace(']', ', {type: RBAC, name: b}]'),
  ),
  '/bad-authz.yaml': configuration(
    'AuthorizationConfiguration',
    webhook('timeout: 31s').replace('timeout: 3s, ', ''),
  ),
}

const remote = { url: 'https://hook.example.com/ask', tls: {}, headers: {} }

async function read(line: string): Promise<ApiServerSettings> {
  const { clock, random, network, files: disk, processes, log } = new Simulation({ seed: 1 }).host('a')
  return readApiServerSettings(parseFlags(line.split(' ').filter(Boolean), apiServerFlags), {
    platform: {
      clock,
      random,
      network,
      processes,
      log,
      files: {
        ...disk,
        read: async path => {
          const content = files[path]
          if (content === undefined) throw Object.assign(new Error('no'), { code: 'ENOENT' })
          return Buffer.from(content)
        },
        makeFolder: async () => undefined,
        openAppend: async path => {
          if (path === '/folder') throw new Error('EISDIR')
          const done = async (): Promise<void> => undefined
          return { append: done, sync: done, [Symbol.asyncDispose]: done }
        },
      },
    },
    defaults: { serviceAccountIssuer: 'https://own', enabledPlugins: [] },
  })
}

test("without flags the settings are kube-apiserver's defaults", async () => {
  const { admission, ...settings } = await read('')
  assert.equal(typeof admission, 'function')
  assert.deepEqual(settings, {
    authentication: { issuers: [], frontProxy: {}, serviceAccounts: {} },
    authorizers: [{ mode: 'Node' }, { mode: 'RBAC' }],
    tolerationSeconds: { notReady: 300, unreachable: 300 },
    limits: { fairness: 'priority and fairness', readOnly: 400, mutating: 200 },
    requestTimeoutMs: 60_000,
    compactionIntervalMs: 300_000,
    historyLimits: { maxAgeMs: 86_400_000, maxBytes: 268_435_456 },
    kubeletTls: {},
    reloads: {},
  })
})

async function check(line: string, expected: Partial<ApiServerSettings>): Promise<void> {
  const settings = await read(line)
  const found = Object.keys(expected).map(name => [name, settings[name as keyof ApiServerSettings]])
  assert.deepEqual(Object.fromEntries(found), expected, line)
}

test('flags and files configure authentication', async () => {
  const authentication = { issuers: [], frontProxy: {}, serviceAccounts: {} }
  await check('--token-auth-file /tokens --anonymous-auth=false --enable-bootstrap-token-auth=false', {
    authentication: {
      ...authentication,
      tokenFile: files['/tokens']!,
      anonymous: { enabled: false },
      bootstrapTokens: false,
    },
  })
  await check('--authentication-config /authn.yaml', {
    authentication: { ...authentication, anonymous: { enabled: false, paths: [] } },
  })
  await check('--authorization-mode AlwaysAllow', {
    authentication: { ...authentication, anonymous: { enabled: false } },
  })
  const accounts = '--service-account-issuer https://a --service-account-issuer https://b'
  await check(`${accounts} --service-account-key-file /key --service-account-max-token-expiration 2h`, {
    authentication: {
      ...authentication,
      serviceAccounts: {
        url: 'https://a',
        acceptedIssuers: ['https://b'],
        audiences: ['https://a', 'https://b'],
        verificationKeys: [keyPem.trim()],
        expirationSecondsMax: 7_200,
      },
    },
  })
  await check('--requestheader-allowed-names a,b --requestheader-group-headers X-G', {
    authentication: { ...authentication, frontProxy: { allowedNames: ['a', 'b'], groupHeaders: ['X-G'] } },
  })
})

test('flags and files configure the front proxy certificate', async t => {
  const { server } = await testCertificates(t)
  files['/proxy.crt'] = server.cert
  await check('--proxy-client-cert-file /proxy.crt --proxy-client-key-file /key', {
    proxyClient: { cert: server.cert, key: keyPem },
  })
})

test('reloaded configuration files may change only webhooks and JWT issuers', async () => {
  const { reloads } = await read('--authorization-config /authz.yaml --authentication-config /authn.yaml')
  const { authorizers, issuers } = reloads
  assert.ok(authorizers && issuers)
  assert.equal(authorizers.content, files['/authz.yaml'])
  const only = (type: string): string =>
    configuration('AuthorizationConfiguration', `authorizers: [{type: ${type}, name: b}]`)
  assert.deepEqual(await authorizers.read(only('RBAC')), [{ mode: 'RBAC' }])
  await assert.rejects(authorizers.read(only('Node')), /other than Webhook cannot change: RBAC, Node$/)
  await assert.rejects(authorizers.read('{}'), /apiVersion/)
  const anonymous = (text: string): string => configuration('AuthenticationConfiguration', text)
  assert.deepEqual(await issuers.read(anonymous('anonymous: {enabled: false}\njwt: []')), [])
  await assert.rejects(issuers.read(anonymous('anonymous: {enabled: true}')), /changed from initial/)
})

test('flags and files configure the certificates for kubelets', async t => {
  const { server } = await testCertificates(t)
  files['/kubelet.crt'] = server.cert
  await check('--kubelet-certificate-authority /kubelet.crt', { kubeletTls: { authorities: server.cert } })
  await check('--kubelet-client-certificate /kubelet.crt --kubelet-client-key /key', {
    kubeletTls: { client: { cert: server.cert, key: keyPem } },
  })
})

test('flags and files configure authorization', async () => {
  await check('--authorization-mode AlwaysDeny,ABAC --authorization-policy-file /abac', {
    authorizers: [
      { mode: 'AlwaysDeny' },
      {
        mode: 'ABAC',
        policies: [
          {
            user: 'alice',
            group: '',
            readonly: false,
            apiGroup: '*',
            resource: 'pods',
            namespace: '*',
            nonResourcePath: '',
          },
        ],
      },
    ],
  })
  const webhookMode = '--authorization-mode Webhook --authorization-webhook-config-file /hook.conf'
  await check(`${webhookMode} --authorization-webhook-cache-authorized-ttl 0s`, {
    authorizers: [{ mode: 'Webhook', webhook: { ...remote, version: 'v1beta1', authorizedTtlMs: 0 } }],
  })
  await check('--authorization-config /authz.yaml', {
    authorizers: [
      {
        mode: 'Webhook',
        webhook: {
          ...remote,
          version: 'v1',
          authorizedTtlMs: 60_000,
          unauthorizedTtlMs: 0,
          timeoutMs: 3_000,
          onFailure: 'deny',
        },
      },
      { mode: 'RBAC' },
    ],
  })
})

test('flags and files configure auditing, encryption, limits and services', async () => {
  await check('--encryption-provider-config /keys.yaml --encryption-provider-config-automatic-reload', {
    encryption: { configuration: files['/keys.yaml']!, path: '/keys.yaml', reloads: true },
  })
  await check(
    '--audit-policy-file /policy --audit-log-path /log --audit-log-maxage 0 --audit-log-maxsize 1',
    {
      audit: {
        policy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] },
        log: {
          path: '/log',
          format: 'json',
          mode: 'blocking',
          sizeBytesMax: 1024 * 1024,
          ageMsMax: Infinity,
          backupsMax: 100,
        },
      } as never,
    },
  )
  await check('--max-requests-inflight 0 --enable-priority-and-fairness=false --request-timeout 1m30s', {
    limits: { fairness: 'max in flight', readOnly: 0, mutating: 200 },
    requestTimeoutMs: 90_000,
  })
  await check('--service-cluster-ip-range 10.0.0.0/16,fd00::/112 --service-node-port-range 100+20', {
    serviceCidrs: ['10.0.0.0/16', 'fd00::/112'],
    nodePorts: { from: 100, to: 120 },
  })
  await check('--advertise-address 192.0.2.1', { advertiseAddress: '192.0.2.1' })
  await check('--event-ttl 1s --etcd-compaction-interval 30s --default-not-ready-toleration-seconds 5', {
    eventTtlMs: 1_000,
    compactionIntervalMs: 30_000,
    tolerationSeconds: { notReady: 5, unreachable: 300 },
  })
  await check('--history-max-age 2h --history-max-size 1Gi --history-dir /history', {
    historyLimits: { maxAgeMs: 7_200_000, maxBytes: 1_073_741_824, folder: '/history' },
  })
  await check('--history-max-age 0', { historyLimits: undefined })
})

test('an invalid value is reported with its flag', async () => {
  const refuse = async (line: string, complaint: string | RegExp): Promise<void> => {
    await assert.rejects(read(line), (error: unknown) => {
      assert.ok(error instanceof UsageError, String(error))
      assert.ok(!error.message.includes('\n'), error.message)
      if (typeof complaint === 'string') assert.equal(error.message, complaint)
      else assert.match(error.message, complaint)
      return true
    })
  }
  const together = /--kubelet-client-certificate and --kubelet-client-key must be specified together/
  await refuse('--kubelet-client-key /key', together)
  await refuse('--client-ca-file /missing', '--client-ca-file /missing: no such file')
  await refuse('--client-ca-file /tokens', '--client-ca-file /tokens: contains no PEM certificate')
  await refuse(
    '--proxy-client-cert-file /tokens',
    /^--proxy-client-cert-file .*: contains no PEM certificate$/,
  )
  await refuse('--proxy-client-key-file /tokens', /^--proxy-client-key-file \/tokens: /)
  await refuse(
    '--proxy-client-key-file /key',
    '--proxy-client-cert-file and --proxy-client-key-file must be specified together',
  )
  await refuse(
    '--token-auth-file /bad-tokens',
    /^--token-auth-file \/bad-tokens: record 1 must have at least 3/,
  )
  await refuse('--service-account-signing-key-file /tokens', /^--service-account-signing-key-file \/tokens: /)
  await refuse(
    '--service-account-key-file /tokens',
    '--service-account-key-file /tokens: contains no PEM key',
  )
  await refuse(
    '--service-account-issuer a --service-account-issuer a',
    /must not contain empty or duplicate values/,
  )
  await refuse('--service-account-max-token-expiration 5m', /must be between 1h and/)
  await refuse('--authentication-config /bad-authn.yaml', /--authentication-config .*audiences/)
  await refuse('--authentication-config /authn.yaml --anonymous-auth', /--anonymous-auth cannot be used if/)
  await refuse(
    '--authentication-config /authn.yaml --oidc-client-id x',
    /--oidc-client-id cannot be used together/,
  )
  await refuse('--oidc-issuer-url https://x', /must be specified together/)
  await refuse('--oidc-issuer-url http://x --oidc-client-id y', /must be a URL that begins with https/)
  await refuse('--oidc-issuer-url https://x --oidc-client-id y --oidc-required-claim z', /must be KEY=VALUE/)
  await refuse(
    '--authentication-token-webhook-config-file /x',
    /: cannot read kubeconfig \/x: file not found$/,
  )
  await refuse('--authentication-token-webhook-config-file /empty.conf', /: .* has no current context$/)
  await refuse('--authorization-mode RBAC,Magic', /"Magic" is not a valid mode/)
  await refuse('--authorization-mode RBAC,RBAC', /more than once/)
  await refuse('--authorization-mode ABAC', '--authorization-mode ABAC requires --authorization-policy-file')
  await refuse('--authorization-mode Webhook', /requires --authorization-webhook-config-file/)
  await refuse('--authorization-policy-file /abac', /without mode ABAC/)
  await refuse('--authorization-webhook-config-file /hook.conf', /without mode Webhook/)
  await refuse(
    '--authorization-mode ABAC --authorization-policy-file /bad-abac',
    /line 1: user must be a string/,
  )
  await refuse(
    '--authorization-config /authz.yaml --authorization-mode RBAC',
    /--authorization-mode cannot be used/,
  )
  await refuse(
    '--authorization-config /bad-authz.yaml',
    /authorizers\[0\]\.timeout: .*must be > 0s and <= 30s/,
  )
  await refuse('--enable-admission-plugins Nonsense', /plugin "Nonsense" is unknown/)
  await refuse('--enable-admission-plugins AlwaysDeny --disable-admission-plugins AlwaysDeny', /overlapped/)
  await refuse(
    '--admission-control-config-file /missing',
    /cannot read the admission configuration \/missing/,
  )
  await refuse('--encryption-provider-config /bad-keys.yaml', /expected length, got 5/)
  await refuse('--encryption-provider-config-automatic-reload', /requires --encryption-provider-config$/)
  await refuse('--audit-log-path /x', /^--audit-log-path requires --audit-policy-file/)
  await refuse(
    '--audit-policy-file /policy --audit-log-path /folder',
    /^--audit-log-path \/folder: cannot be written: EISDIR$/,
  )
  await refuse('--audit-policy-file /policy', /requires --audit-log-path or --audit-webhook-config-file/)
  await refuse(
    '--audit-policy-file /bad-policy --audit-log-path /x',
    /level: Unsupported value: "Everything"/,
  )
  await refuse(
    '--audit-policy-file /policy --audit-log-path /x --audit-webhook-mode batch',
    /requires --audit-webhook-c/,
  )
  await refuse('--max-requests-inflight 0 --max-mutating-requests-inflight 0', /cannot both be 0/)
  await refuse('--request-timeout 0s', /must be longer than 0s/)
  await refuse('--service-cluster-ip-range 10.0.0.0/8,10.0.0.0/16', /must be one CIDR/)
})

test('the help lists every flag once, within the line length', () => {
  const help = describeApiServerFlags()
  for (const name of Object.keys(apiServerFlags)) {
    assert.equal(help.match(new RegExp(`^ {2}--${name}(?: |$)`, 'gm'))?.length, 1, name)
  }
  const long = help.split('\n').filter(line => line.length > 120)
  assert.deepEqual(long, [])
})

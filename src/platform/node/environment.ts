export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  return process.env
}

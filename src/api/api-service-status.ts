/** The `Available` condition of local APIServices: those without a service, which this API server serves itself. */
export const localAvailability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
}

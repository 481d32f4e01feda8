// The answer to a request that goes over a connection on which the program speaks HTTP itself.
'use strict';
const { Buffer } = require('buffer');
const { IncomingMessage } = require('internal/http_incoming');
const { AnswerParser } = require('internal/http_parser');

function listen(request, socket) {
  const { method } = request;
  let response;
  let isOver = false;
  const rest = [];
  const parser = new AnswerParser({
    head(head) {
      const { status } = head;
      const isOther = status === 101 || (method === 'CONNECT' && status >= 200 && status <= 299);
      if (status < 200 && !isOther) {
        if (status === 100) request.emit('continue');
        request.emit('information', { statusCode: status, statusMessage: head.message, httpVersion: `${head.major}.${head.minor}`, rawHeaders: head.raw });
        return true;
      }
      response = new IncomingMessage(socket);
      response.joinDuplicateHeaders = request.joinDuplicateHeaders;
      response._fill(head);
      if (isOther) {
        isOver = true;
        return 'over';
      }
      response._read = () => socket.resume();
      request._answer(response);
      return method === 'HEAD' || status === 204 || status === 304;
    },
    data(piece) {
      if (!response.push(piece)) socket.pause();
    },
    end(trailers) {
      response.complete = true;
      response.rawTrailers = trailers;
      for (let at = 0; at < trailers.length; at += 2) response._addHeaderLine(trailers[at], trailers[at + 1], response.trailers);
      response.push(null);
    },
    rest: (piece) => rest.push(piece),
  });
  // The program goes on in another protocol.
  function leave() {
    const event = method === 'CONNECT' ? 'connect' : 'upgrade';
    socket.removeListener('data', take);
    socket.removeListener('end', end);
    socket.readableFlowing = null;
    request._leave();
    request._isUpgraded = response.complete = true;
    if (!request.emit(event, response, socket, Buffer.concat(rest))) socket.destroy();
    request.destroy();
  }
  function attempt(act) {
    try {
      act();
    } catch (failure) {
      if (response) response._abort(failure);
      else request.destroy(failure);
    }
  }
  const take = (piece) => {
    attempt(() => parser.push(piece));
    if (isOver && !request.destroyed) leave();
  };
  const end = () => attempt(() => parser.end());
  socket.on('data', take);
  socket.on('end', end);
}

module.exports = { listen };
